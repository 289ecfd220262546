package rpc_test

import "github.com/pronybench/prony/engine/access"

var access0 = *access.Everybody()
