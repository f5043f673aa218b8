(* SPDX-License-Identifier: MIT *)
(* Answers a line for each line of standard input. *)
let () =
  try
    while true do
      (match input_line stdin with
      | "version" -> print_endline Sys.ocaml_version
      | _ -> print_endline (string_of_int (Domain.recommended_domain_count ())));
      flush stdout
    done
  with End_of_file -> ()
