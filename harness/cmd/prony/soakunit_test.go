package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The systemd unit restarts a soak after a crash or an error but not after a verdict, and its
// command line is valid.
func TestTheUnitOfASoak(t *testing.T) {
	text, err := os.ReadFile("../../deploy/prony-soak.service")
	require.NoError(t, err)
	setting := func(name string) string {
		found := regexp.MustCompile(`(?m)^`+name+`=(.*)$`).FindAllStringSubmatch(string(text), -1)
		require.Len(t, found, 1, name)
		return found[0][1]
	}
	var verdicts []string
	for _, v := range []result.Verdict{result.Regressed, result.Invalid, result.Inconclusive, result.Incorrect} {
		verdicts = append(verdicts, strconv.Itoa(v.ExitCode()))
	}
	assert.Equal(t, strings.Join(verdicts, " "), setting("RestartPreventExitStatus"))
	assert.Equal(t, strconv.Itoa(exitInterrupted), setting("SuccessExitStatus"))
	assert.Equal(t, "on-failure", setting("Restart"))
	assert.Equal(t, "mixed", setting("KillMode"), "prony stops its servers")
	line := strings.Fields(setting("ExecStart"))
	assert.Equal(t, "/usr/local/bin/prony", line[0])
	require.Equal(t, "soak", line[1])
	c := soakCommand(line, nil)
	require.NoError(t, c.ParseFlags(line[2:]))
	require.NoError(t, c.ValidateArgs(c.Flags().Args()))
	folder, err := c.Flags().GetString("folder")
	require.NoError(t, err)
	assert.Equal(t, "!"+folder+"/"+result.SoakFile, setting("ConditionPathExists"), "a finished soak is not restarted")
	assert.Equal(t, "prony", setting("StateDirectory"))
	assert.True(t, strings.HasPrefix(folder, "/var/lib/prony/"))
}
