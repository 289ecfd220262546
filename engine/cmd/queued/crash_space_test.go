package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage/disk"
)

// smallDisk mounts a file system of the given size. Without permission it logs that and returns
// false. The tests with a quota in package node then cover the same behaviour, except for the
// operating system's.
func smallDisk(t *testing.T, size string) (dir string, mounted bool) {
	t.Helper()
	dir = t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENODEV) {
		t.Logf("NOT TESTED on a real file system: mounting a tmpfs is not permitted here (%v); run it as root, or with unshare -rm", err)
		return "", false
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir, true
}

// occupy fills a file system to the last byte with a file.
func occupy(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	for block := make([]byte, 1<<20); ; {
		_, err := f.Write(block)
		if errors.Is(err, unix.ENOSPC) {
			if len(block) == 1 {
				break
			}
			block = block[:1]
			continue
		}
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
}

// leaveBallast fills a file system with a file, leaving only the space that the ballast frees at
// the next start. If a running flush or compaction has used the ballast already, it shortens the
// file by the ballast's size.
func leaveBallast(t *testing.T, data, filler string, size int64) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(data, disk.BallastFile)); !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
		occupy(t, filler)
		return
	}
	t.Log("the ballast was used before the kill")
	occupy(t, filler)
	info, err := os.Stat(filler)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(filler, info.Size()-size))
}

// TestAServerOnAFullDiskReadsAndResumes fills a real file system: first through the API until the
// server refuses, then from outside to the last byte. The server refuses changes, reads, restarts
// after a kill, and resumes when there is space. No acknowledged task may be lost, and no start may
// crash. The short form covers one durability mode.
func TestAServerOnAFullDiskReadsAndResumes(t *testing.T) {
	t.Parallel()
	for _, durability := range []string{"sync", "interval", "none"} {
		t.Run(durability, func(t *testing.T) {
			if durability != "sync" {
				longtest.Only(t)
			}
			mount, mounted := smallDisk(t, "768m")
			if !mounted {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			defer cancel()
			data, filler := filepath.Join(mount, "data"), filepath.Join(mount, "filler")
			args := []string{"--data", data, "--durability", durability, "--disk-low", "250MiB", "--disk-critical", "125MiB"}
			p := start(t, args...)
			c := p.dial()
			acked := fillServer(ctx, t, c)
			reads := func() {
				t.Helper()
				for _, id := range acked {
					_, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: id})
					require.NoError(t, err, "%s was acknowledged", id)
				}
			}
			refuses := func() {
				t.Helper()
				require.Eventually(t, func() bool {
					_, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
					return status.Code(err) == codes.ResourceExhausted
				}, patience, 10*time.Millisecond, p.log)
			}
			occupy(t, filler)
			refuses()
			reads()
			t.Logf("%d tasks of 256 KiB; full: %s", len(acked), p.get("/readyz"))

			require.NoError(t, c.Close())
			p.kill()
			leaveBallast(t, data, filler, 125<<20)
			p = start(t, args...) // the ballast frees space
			c = p.dial()
			// The start may have removed obsolete logs, and so freed more space than the marks
			// require.
			require.Eventually(t, func() bool {
				_, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
				hasSpace := strings.Contains(p.log.String(), "now=low") || strings.Contains(p.log.String(), "enough disk space is free again")
				return status.Code(err) == codes.ResourceExhausted || err == nil && hasSpace
			}, patience, 10*time.Millisecond, p.log)
			reads()

			require.NoError(t, c.Close())
			p.kill()
			occupy(t, filler)
			// The ballast is used up: no byte is free.
			p = launch(t, filepath.Join(t.TempDir(), "addresses.json"), func(args []string) *exec.Cmd { return exec.Command(args[0], args[1:]...) }, args...)
			// A write waits, or none was needed; the server must not end.
			require.Eventually(t, func() bool {
				select {
				case <-p.exited:
					t.Error("it ended: ", p.log)
					return true
				default:
				}
				_, err := os.Stat(p.file)
				return err == nil || strings.Contains(p.log.String(), "the disk is full: writing waits until there is room")
			}, patience, 10*time.Millisecond, p.log)
			require.NoError(t, os.Remove(filler))
			p.serves()
			c = p.dial()
			require.Eventually(t, func() bool {
				out, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, LeaseMs: 3600_000})
				return err == nil && len(out.GetTasks()) == 1
			}, patience, 10*time.Millisecond, "service resumes")
			reads()
			require.NoError(t, c.Close())
		})
	}
}

// fillServer enqueues until the server refuses, and returns the ids of the acknowledged tasks.
func fillServer(ctx context.Context, t *testing.T, c *client.Client) (acked []string) {
	t.Helper()
	source := rand.NewChaCha8([32]byte{})
	for {
		payload := make([]byte, 256<<10)
		_, err := io.ReadFull(source, payload)
		require.NoError(t, err)
		out, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", Payload: payload}}})
		if err != nil {
			require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
			// Logs preallocated between two checks of the disk may cross both marks at once.
			require.Regexp(t, "--disk-(low|critical)", err.Error())
			break
		}
		if e := out.GetResults()[0].GetError(); e != nil {
			require.Equal(t, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, e.GetCode())
			break
		}
		acked = append(acked, out.GetResults()[0].GetId())
	}
	require.NotEmpty(t, acked)
	return acked
}
