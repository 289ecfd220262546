package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README's commands write access tokens and keys to folders in the repository, which Git must
// ignore.
func TestGitIgnoresWhatTheREADMEsCommandsKeep(t *testing.T) {
	const root = "../../.."
	if err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "--git-dir").Run(); err != nil {
		t.Skip("this is no git repository: ", err)
	}
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	folders := map[string]bool{}
	for _, flag := range regexp.MustCompile(`(?m)^\s*bin/queued [^\n]* --(?:data|out) (?:\./)?([a-z]+)`).FindAllSubmatch(text, -1) {
		folders[string(flag[1])] = true
	}
	require.Equal(t, map[string]bool{"data": true, "certs": true}, folders)
	for folder := range folders {
		for _, in := range []string{"", "engine/"} { // the commands may run in either folder
			for _, secret := range []string{"admin.token", "n1/admin.token", "admin.token.next", "ca.key", "n1/tls.key"} {
				path := in + folder + "/" + secret
				out, err := exec.CommandContext(t.Context(), "git", "-C", root, "check-ignore", "--no-index", path).CombinedOutput()
				assert.NoError(t, err, "git would add %s: %s", path, out)
			}
		}
	}
}
