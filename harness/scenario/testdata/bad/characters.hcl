scenario "control" {
	title = "tab\tand bell \u0007"
	ÿþ = 3
	rounds = 0 # long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long 
}
