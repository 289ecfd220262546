# The commit to which speed limits are relative. Written by `prony baseline move`.
build "4e7acbc4eff07ad4f44e3292ae640db8c880c679" {
  date    = "2026-11-28"
  because = "the first baseline build: the last commit before speed limits became relative to a build"
}
