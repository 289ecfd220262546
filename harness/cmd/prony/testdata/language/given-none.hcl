# prony validate --var workers=1 FILE
scenario "given-none" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "1s" }
}
