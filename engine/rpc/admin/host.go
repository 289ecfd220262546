package admin

import (
	"context"
	"errors"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/storage/backup"
)

// Backup implements adminpb.AdminServiceServer.
func (a *Service) Backup(ctx context.Context, in *adminpb.BackupRequest) (*adminpb.BackupResponse, error) {
	if _, err := call.Operator(ctx); err != nil {
		return nil, a.refuse(err)
	}
	path, bytes, err := a.host.Backup(ctx, in.GetName())
	var bad *backup.NameError
	if errors.As(err, &bad) {
		err = &queue.FieldError{Field: "name", Problem: bad.Error()}
	}
	if err != nil {
		return nil, a.refuse(err)
	}
	return &adminpb.BackupResponse{Path: path, Bytes: uint64(bytes)}, nil
}

// statusHere returns the status fields that describe only this server.
func (a *Service) statusHere() *adminpb.GetStatusResponse {
	s := a.host.Status()
	return &adminpb.GetStatusResponse{
		Version: s.Version, StartedAtMs: s.StartedAtMs, Shards: uint32(a.shards.Len()), Durability: s.Durability,
		Ready: s.NotReady == "", NotReadyReason: s.NotReady, ClockUnixUs: s.Clock.UnixMicro(), WallClockAheadUs: s.WallClockAhead.Microseconds(), Disk: s.Disk, Build: s.Build,
	}
}
