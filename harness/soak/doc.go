// Package soak measures servers that stay up for hours to weeks: one window after the other on the same servers, until so much time is measured.
//
// # A soak's folder
//
//	DIR/
//	  lock             held by the one process that may work in the folder
//	  state.json       what is measured, and since when
//	  rows.jsonl       a row of figures for each window, or for several that follow each other; see Row
//	  windows/         the whole result of single windows: 00000012.json. Old ones are deleted by age and size
//	  servers/         what the Stand keeps: data, logs, addresses, and the account of the window under way
//	  report.html      what there is so far, written after each window
//	  soak.json        result.Soak; written last: a folder that has it holds a finished soak
//
// The folder is bounded: rows.jsonl by rowsMax, windows/ by what the scenario keeps. Neighbouring rows are added up when there are too many:
// counts and sums are added, and histograms merged. Percentiles are never averaged.
//
// # Crashes
//
// Files are replaced in one step, and a row is appended after the whole result of its window was stored. Open repairs what a kill leaves: a row
// that was cut is dropped, and a window whose result is stored and whose row is missing gets its row. What the harness did not see of the window
// under way is for Stand.Recover to say. The same command goes on where the last one ended, until the measured time is reached.
package soak
