scenario "terminal" {
  rounds = 0 # [31m
  title = <<END
several
lines
END
}
