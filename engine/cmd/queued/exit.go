package main

import (
	"fmt"
	"strings"
)

// These exit codes are documented in exitCodes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitInterrupted = 130
)

// exitCodes is the only description of the exit codes: queued prints it in its help, and tests
// compare the README and the systemd unit with it. If retrying cannot help without a change of the
// configuration or the request, the exit code is 2; a service manager then does not restart the
// server.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitFailed, "refused or failed; a later try may succeed, for example once a port is free or a full disk has room"},
	{exitUsage, "the command line, the configuration, a file or folder, or what the server refuses must be changed first"},
	{exitUnreachable, "the server cannot be reached, or its cluster has no majority"},
	{exitInterrupted, "interrupted"},
}

func exitCodesText() string {
	var b strings.Builder
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	return b.String()
}
