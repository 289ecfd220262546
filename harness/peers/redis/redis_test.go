package redis

import (
	"errors"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
)

func TestTheGuaranteeDecidesTheAppendOnlyFile(t *testing.T) {
	for _, test := range []struct {
		guarantee program.Guarantee
		fsync     string
		want      string
	}{
		{program.Memory, "", "--appendonly no"},
		{program.Memory, "everysec", "--appendonly yes --appendfsync everysec"},
		{program.OS, "", "--appendonly yes --appendfsync no"},
		{program.Fsync, "", "--appendonly yes --appendfsync always"},
	} {
		command, err := commandOf("redis-server", "127.0.0.1:1234", program.LaunchSpec{Folder: "f", Guarantee: test.guarantee}, test.fsync)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(strings.Join(command, " "), test.want), command)
		assert.Contains(t, strings.Join(command, " "), "--port 1234 --dir f")
	}
	_, err := commandOf("redis-server", "127.0.0.1:1234", program.LaunchSpec{Guarantee: program.Fsync}, "everysec")
	require.EqualError(t, err,
		`setting appendfsync = "everysec": guarantee "fsync" already defines it: remove the setting, or set the guarantee to "memory"`)
}

func TestAnswersAreRefusalsAndOtherErrorsAreUnknown(t *testing.T) {
	assert.NoError(t, outcomeOf(nil))
	assert.NotErrorIs(t, outcomeOf(goredis.ErrCrossSlot), driver.ErrUnknown)
	assert.ErrorIs(t, outcomeOf(errors.New("connection reset")), driver.ErrUnknown)
}
