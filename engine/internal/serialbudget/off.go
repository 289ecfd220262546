//go:build !serialbudget

package serialbudget

import "net/http"

// Enabled reports whether the binary accepts no-op requests.
const Enabled = false

// Work returns 0.
func Work() uint64 { return 0 }

// Put does nothing.
func Put(http.ResponseWriter, *http.Request) {}
