//go:build !planted

package call

import "google.golang.org/grpc"

func plantedOptions() []grpc.ServerOption { return nil }
