// Package soak measures servers that stay up for hours to weeks: successive windows on the same
// servers, until the requested time is measured.
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
//	  soak.json        result.Soak; written last: a folder that has it holds a finished soak
//
// The folder is bounded: rows.jsonl by rowsMax, windows/ by the scenario. If there are too many
// rows, neighbours are merged: counts and sums are added, and histograms merged. Percentiles are
// never averaged.
//
// # Crashes
//
// Files are replaced atomically, and a row is appended after the whole result of its window was
// stored. Opening the folder repairs the effects of a kill: a truncated row is dropped, and a
// window with a stored result but no row gets its row. Stand.Recover reports what is known of the
// window that was in progress. The same command continues where the last one ended, until the
// measured time is reached.
package soak
