package prony

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver/program"
)

func TestSettingsOfTheServerAreChecked(t *testing.T) {
	for value, want := range map[string]string{
		"0":    `setting procs = "0": it is each server's GOMAXPROCS, a number from 1 to `,
		"many": `setting procs = "many": it is`,
	} {
		_, err := Target().Launch(t.Context(), program.LaunchSpec{Guarantee: program.Fsync, Nodes: 1, Settings: map[string]string{"procs": value}})
		require.ErrorContains(t, err, want)
	}
	_, err := Target().Launch(t.Context(), program.LaunchSpec{Guarantee: program.Fsync, Nodes: 1, Settings: map[string]string{"shards": "2"}})
	require.ErrorContains(t, err, `setting "shards": prony has no such setting here; it has ["procs"]`)
}
