// SPDX-License-Identifier: MIT

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Answers a line for each line of standard input. */
public class Probe {
	public static void main(String[] arguments) throws IOException {
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		for (String line; (line = lines.readLine()) != null; ) {
			String cpus = String.valueOf(Runtime.getRuntime().availableProcessors());
			System.out.println(line.equals("version") ? System.getProperty("java.version") : cpus);
		}
	}
}
