// Package soak measures servers that run for hours to weeks. It measures successive windows on the
// same servers until the total measured time reaches the requested time.
//
// # A soak's folder
//
//	DIR/
//	  lock             held by the only process that may work in the folder
//	  state.json       what is measured, and since when
//	  rows.jsonl       a row of figures per window or per group of successive windows; see Row
//	  windows/         the whole results of single windows: 00000012.json. Old ones are deleted by age and size
//	  servers/         files of the Stand: data, logs, addresses, and the account of the current window
//	  report.html      the result so far, written after windows
//	  soak.json        result.Soak; written last: it exists only if the soak is finished
//
// The size of the folder is bounded: rowsMax limits rows.jsonl, and the scenario limits windows/.
// If there are too many rows, neighbours are merged: counts and sums are added, and histograms are
// merged. Percentiles are never averaged.
//
// # Crashes
//
// Files are replaced atomically. A row is appended only after the whole result of its window was
// stored. When a folder is opened, the effects of a kill are repaired: a truncated row is dropped,
// and if the result of a window is stored but has no row, the row is added. Stand.Recover returns
// what is known about the window that was in progress. The same command continues where the last
// one ended, until the requested time is measured.
package soak
