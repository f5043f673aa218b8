// SPDX-License-Identifier: MIT
// Goroutines at one lock, by as many system threads as Go starts.
package main

import "sync"

func main() {
	var lock sync.Mutex
	var all sync.WaitGroup
	count := 0
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := 0; n < 100000; n++ {
				lock.Lock()
				count++
				lock.Unlock()
			}
		}()
	}
	all.Wait()
	if count != 800000 {
		panic("lost")
	}
}
