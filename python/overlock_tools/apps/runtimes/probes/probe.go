// SPDX-License-Identifier: MIT

// Answers a line for each line of standard input.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "version" {
			fmt.Println(runtime.Version()[len("go"):])
		} else {
			fmt.Println(runtime.GOMAXPROCS(0), runtime.NumCPU())
		}
	}
}
