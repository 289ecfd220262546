package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/storage"
)

func TestMarksOfSpace(t *testing.T) {
	var at storage.SpaceMark
	v := mark(&at)
	require.Equal(t, "auto", v.get())
	for _, text := range []string{"5%", "50%", "2GiB", "0B", "auto"} {
		require.NoError(t, v.set([]string{text}))
		require.Equal(t, text, v.get())
	}
	for text, want := range map[string]string{
		"0%": "is not a percentage from 1% to 50%", "51%": "is not a percentage from 1% to 50%", "x%": "is not a percentage",
		"much": `is neither auto, nor a percentage such as "5%", nor a size such as "2GiB"`, "2TiB": "is not from 0B to 1TiB", "": "is neither auto",
	} {
		require.ErrorContains(t, v.set([]string{text}), want, text)
	}
	require.Equal(t, storage.SpaceMark{}, at, "a refused value does not change the setting")
}
