package render

// commitDigits are enough to tell the commits of a repository apart.
const commitDigits = 12

// Commit writes the begin of a commit's hash, and "unknown" for none.
func Commit(hash string) string {
	if hash == "" {
		return "unknown"
	}
	return hash[:min(commitDigits, len(hash))]
}
