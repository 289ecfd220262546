package render

// commitDigits are enough to distinguish the commits of a repository.
const commitDigits = 12

// Commit returns the beginning of a commit's hash, or "unknown" for "".
func Commit(hash string) string {
	if hash == "" {
		return "unknown"
	}
	return hash[:min(commitDigits, len(hash))]
}
