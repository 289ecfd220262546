package main

import (
	"context"

	"github.com/pronybench/prony/engine/adminpb"
)

func aRecurring(paused bool) *adminpb.Recurring {
	r := &adminpb.Recurring{
		Tenant: "acme", Queue: "mail", Name: "digest", Paused: paused, SettledUntilMs: someTime, LastId: "0000000000000000000000g1", Unfinished: true,
		Runs: 7, Missed: 2, Overlapped: 1, Refused: 3,
		Spec: &adminpb.RecurringSpec{
			Cron: "30 8 * * *", TimeZone: "Europe/Berlin", JitterMs: 60_000, Missed: adminpb.MissedRuns_MISSED_RUNS_RUN_ALL, MissedMax: 12, Overlap: adminpb.Overlap_OVERLAP_SKIP,
			Task: &adminpb.RecurringTemplate{Payload: []byte("daily"), Headers: map[string]string{"kind": "digest"}, Priority: 5},
		},
	}
	if !paused {
		r.NextMs = []int64{someTime + 1_000, someTime + 86_401_000}
	}
	return r
}

func (a *admin) SetRecurring(_ context.Context, r *adminpb.SetRecurringRequest) (*adminpb.SetRecurringResponse, error) {
	return &adminpb.SetRecurringResponse{Recurring: &adminpb.Recurring{Tenant: "acme", Queue: r.GetQueue(), Name: r.GetName(), Spec: r.GetSpec(), NextMs: []int64{someTime}}}, nil
}

func (a *admin) ListRecurring(_ context.Context, r *adminpb.ListRecurringRequest) (*adminpb.ListRecurringResponse, error) {
	every := &adminpb.Recurring{Tenant: "acme", Queue: "mail", Name: "sweep", Spec: &adminpb.RecurringSpec{IntervalMs: 900_000}, NextMs: []int64{someTime}}
	return &adminpb.ListRecurringResponse{Recurring: []*adminpb.Recurring{aRecurring(true), every}, NextPageToken: a.next(r.GetPageToken())}, nil
}

func (a *admin) GetRecurring(context.Context, *adminpb.GetRecurringRequest) (*adminpb.GetRecurringResponse, error) {
	return &adminpb.GetRecurringResponse{Recurring: aRecurring(false)}, nil
}

func (a *admin) PauseRecurring(context.Context, *adminpb.PauseRecurringRequest) (*adminpb.PauseRecurringResponse, error) {
	return &adminpb.PauseRecurringResponse{}, nil
}

func (a *admin) ResumeRecurring(context.Context, *adminpb.ResumeRecurringRequest) (*adminpb.ResumeRecurringResponse, error) {
	return &adminpb.ResumeRecurringResponse{}, nil
}

func (a *admin) RunRecurring(context.Context, *adminpb.RunRecurringRequest) (*adminpb.RunRecurringResponse, error) {
	return &adminpb.RunRecurringResponse{Id: "0000000000000000000000g1"}, nil
}

func (a *admin) DeleteRecurring(context.Context, *adminpb.DeleteRecurringRequest) (*adminpb.DeleteRecurringResponse, error) {
	return &adminpb.DeleteRecurringResponse{}, nil
}
