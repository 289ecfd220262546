# prony explain FILE
# k6 puts the load on the servers, with a script; swept, with several.
scenario "scripts" {
  title = "What k6 does"
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    script    = "scripts/one.js"
    producers = 4
    workers   = 8
    batch     = 16
  }
  phases { window = "5s" }
  rounds = 2
  sweep "workload.main.script" { values = ["scripts/one.js", "scripts/two.js"] }
}
