package main

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
)

// TestAServerWhoseDiskFailsStopsAndSaysSo limits the size of the server's files, so that a write to
// the log fails. The server must end, and must not acknowledge what it could not store.
func TestAServerWhoseDiskFailsStopsAndSaysSo(t *testing.T) {
	for _, durability := range []string{"sync", "interval", "none"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			data := t.TempDir()
			p := startAs(t, func(args []string) *exec.Cmd {
				// The unit is 512 or 1,024 bytes, depending on the shell.
				return exec.Command("sh", append([]string{"-c", `ulimit -f 1000; exec "$0" "$@"`}, args...)...)
			}, "--data", data, "--durability", durability)
			c := p.dialOnce()
			acked := map[string]bool{}
			payload := make([]byte, 20_000)
			for i := 0; ; i++ {
				require.Less(t, i, 1_000, "the server runs beyond the limit")
				name := fmt.Sprint(i)
				out, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", Payload: append(payload, name...)}}})
				if err != nil {
					assert.True(t, gone(err), "%v", err)
					break
				}
				acked[out.GetResults()[0].GetId()] = true
			}
			require.NoError(t, c.Close())
			select {
			case <-p.exited:
			case <-time.After(patience):
				require.Fail(t, "it runs on after a failed write", p.log.String())
			}
			assert.Equal(t, 1, p.command.ProcessState.ExitCode(), p.log.String())
			assert.Contains(t, p.log.String(), "the store failed, stopping at once")
			assert.Regexp(t, `write .*\.log\S*: .*file too large`, p.log.String())
			assert.NotContains(t, p.log.String(), "goroutine ")

			p = start(t, "--data", data, "--durability", durability)
			c = p.dial()
			require.Greater(t, len(acked), 10)
			for id := range acked {
				_, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: id})
				require.NoError(t, err, "%s was acknowledged", id)
			}
			require.NoError(t, c.Close())
		})
	}
}
