let inner n = print_int n; print_newline (); n + 1
let rec outer n = if n = 0 then 0 else 1 + inner (outer (n - 1))
let () = List.iter (fun x -> ignore (outer x)) [1; 2; 3]
