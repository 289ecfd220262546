package profile

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/result"
)

// areaOrder is the order of the areas in a summary.
var areaOrder = []string{
	result.AreaRPC, result.AreaCodec, result.AreaQueue, result.AreaGet, result.AreaIterator, result.AreaCommit, result.AreaCompaction,
	result.AreaReplication, result.AreaScheduler, result.AreaGC, result.AreaMemory, result.AreaSyscalls, result.AreaOther,
}

const (
	enginePath = ownPrefix + "engine/"
	pebblePath = "github.com/cockroachdb/pebble/v2."
)

// areaPrefixes assigns functions to areas. A function belongs to an area if its full name starts
// with one of the prefixes. A function without a matching prefix belongs to the area of its caller.
// For example, a helper of Pebble belongs to the look-up or the commit that calls it, and memmove
// belongs to the code that copies.
var areaPrefixes = map[string][]string{
	result.AreaRPC: {
		"google.golang.org/grpc", "golang.org/x/net/http2", "net/http.", "net.", "crypto/tls.",
		enginePath + "wire.", enginePath + "rpc", enginePath + "rest", enginePath + "access",
	},
	result.AreaCodec: {
		"google.golang.org/protobuf", enginePath + "storage/record.", enginePath + "internal/fields.", enginePath + "queuepb.",
	},
	result.AreaQueue: {enginePath + "queue.", enginePath + "shard."},
	result.AreaGet: {
		pebblePath + "(*DB).Get", pebblePath + "(*DB).getInternal", pebblePath + "(*getIter).", pebblePath + "(*Snapshot).Get",
		enginePath + "storage.view", enginePath + "storage.(*points).", enginePath + "storage.live.", enginePath + "storage.(*keyFilter).",
	},
	result.AreaIterator: {
		pebblePath + "(*Iterator).", pebblePath + "(*DB).NewIter", pebblePath + "(*DB).newIter", pebblePath + "(*Snapshot).NewIter",
		pebblePath + "finishInitializingIter", enginePath + "storage.scanSteps", enginePath + "storage.(*laneSeqs).",
	},
	result.AreaCommit: {
		pebblePath + "(*Batch).", pebblePath + "(*DB).Apply", pebblePath + "(*DB).apply", pebblePath + "(*DB).commit", pebblePath + "(*commitPipeline).",
		pebblePath + "(*memTable).", pebblePath + "(*DB).makeRoomForWrite", pebblePath + "(*DB).NewBatch", pebblePath + "newBatch",
		"github.com/cockroachdb/pebble/v2/record.", "github.com/cockroachdb/pebble/v2/batchrepr.",
		enginePath + "storage.(*Batch).", enginePath + "storage.(*youngRecords).", enginePath + "storage.Commit.", enginePath + "storage.(*Store).commit",
		enginePath + "storage.(*database).apply", enginePath + "storage/young.", enginePath + "storage/disk.",
	},
	result.AreaCompaction: {
		pebblePath + "(*DB).flush", pebblePath + "(*DB).compact", pebblePath + "(*DB).runCompaction", pebblePath + "(*DB).maybeScheduleCompaction",
		pebblePath + "(*DB).maybeScheduleFlush", "github.com/cockroachdb/pebble/v2/internal/compact.",
	},
	result.AreaReplication: {"github.com/hashicorp/raft.", enginePath + "replica", enginePath + "storage.(*Store).Apply"},
	result.AreaScheduler: {
		"runtime.schedule", "runtime.findRunnable", "runtime.mcall", "runtime.park_m", "runtime.gopark", "runtime.goready", "runtime.ready",
		"runtime.goyield", "runtime.gosched", "runtime.Gosched", "runtime.gopreempt", "runtime.goexit0", "runtime.newproc", "runtime.execute", "runtime.wakep",
		"runtime.startm", "runtime.stopm", "runtime.mstart", "runtime.sysmon", "runtime.netpoll", "runtime.futex", "runtime.note", "runtime.lock",
		"runtime.unlock", "runtime.chan", "runtime.selectgo", "runtime.sem", "runtime.sync", "runtime.procyield", "runtime.osyield", "runtime.usleep",
		"runtime.exitsyscall", "runtime.entersyscall", "runtime.reentersyscall", "runtime.casgstatus", "runtime.runq", "runtime.stealWork", "runtime.checkTimers",
		"runtime.(*timer", "runtime.resetspinning", "runtime.retake", "runtime.preempt", "runtime.asyncPreempt", "runtime.send", "runtime.recv",
		"runtime._System", "runtime._ExternalCode", "runtime._LostExternalCode",
	},
	result.AreaGC: {
		"runtime.gc", "runtime._GC", "runtime.bgsweep", "runtime.bgscavenge", "runtime.scan", "runtime.mark", "runtime.grey", "runtime.wbBufFlush",
		"runtime.bulkBarrier", "runtime.sweepone", "runtime.(*gc", "runtime.(*sweepLocked).", "runtime.(*scavenge", "runtime.typePointers", "runtime.spanOf",
		"runtime.findObject", "runtime.tryDeferToSpanScan", "runtime.(*limiterEvent)",
	},
	result.AreaMemory: {
		"runtime.mallocgc", "runtime.newobject", "runtime.makeslice", "runtime.growslice", "runtime.newarray", "runtime.(*mcache).", "runtime.(*mcentral).",
		"runtime.(*mheap).", "runtime.persistentalloc", "runtime.sysUsed", "runtime.sysUnused", "runtime.heapSetType", "runtime.memclrNoHeapPointersChunked",
	},
	result.AreaSyscalls: {"internal/runtime/syscall.", "syscall.", "golang.org/x/sys/unix."},
}

// areas divides the values of a profile of kind k among the areas. The values of all areas add up
// to the total of the profile.
func areas(p *profile.Profile, k kind) ([]result.ProfileArea, error) {
	index, err := valueIndex(p, k.value)
	if err != nil {
		return nil, err
	}
	of := map[string]string{} // caches the area of each function
	values := map[string]float64{}
	for _, s := range p.Sample {
		values[areaOf(frames(s), of)] += float64(s.Value[index])
	}
	var out []result.ProfileArea
	for _, name := range areaOrder {
		if values[name] != 0 {
			out = append(out, result.ProfileArea{Name: name, Value: values[name]})
		}
	}
	return out, nil
}

// areaOf returns the area of the innermost function in a stack that has an area. known caches the
// areas of functions.
func areaOf(stack []string, known map[string]string) string {
	for _, function := range stack {
		area, seen := known[function]
		if !seen {
			area = areaNamed(function)
			known[function] = area
		}
		if area != "" {
			return area
		}
	}
	return result.AreaOther
}

// areaNamed returns the area that has a prefix of the function's name, or "" if there is none. At
// most one area has such a prefix.
func areaNamed(function string) string {
	for area, prefixes := range areaPrefixes {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(function, prefix) }) {
			return area
		}
	}
	return ""
}
