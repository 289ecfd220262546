package hosts

import (
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

const (
	// shapedFor bounds how long a packet may wait in the queue of the token bucket. Packets that
	// would wait longer are dropped, as by a full switch.
	shapedFor = 50 * time.Millisecond
	// burstFor is the capacity of the token bucket, as a time: after a pause a host may send the
	// amount of this time at full speed.
	burstFor    = 2 * time.Millisecond
	burstLeast  = 16 << 10
	shapedLeast = 64 << 10
	shapedMost  = 64 << 20
)

// limitBandwidth limits how much the host sends to the other hosts, in bits per second. The host is
// the one in whose namespace the calling thread is. The limit is a token bucket (qdisc tbf) on the
// host's device.
func limitBandwidth(bitsPerS float64) error {
	tun, err := netlink.LinkByName(tunName)
	if err != nil {
		return fmt.Errorf("limit the bandwidth: %w", err)
	}
	bytesPerS := bitsPerS / 8
	burst := max(burstLeast, bytesPerS*burstFor.Seconds())
	bucket := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: tun.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       uint64(bytesPerS),
		Buffer:     netlink.Xmittime(uint64(bytesPerS), uint32(burst)),
		Limit:      uint32(min(shapedMost, max(shapedLeast, bytesPerS*shapedFor.Seconds()))),
	}
	if err := netlink.QdiscAdd(bucket); err != nil {
		return fmt.Errorf("limit the bandwidth with a token bucket (the kernel needs qdisc tbf): %w", err)
	}
	return nil
}

// shaped returns the number of packets that the host's token bucket has dropped because its queue
// was full. The calling thread must be in the host's namespace.
func shaped() (dropped uint64, err error) {
	tun, err := netlink.LinkByName(tunName)
	if err != nil {
		return 0, fmt.Errorf("count the packets dropped by the bandwidth limit: %w", err)
	}
	queues, err := netlink.QdiscList(tun)
	if err != nil {
		return 0, fmt.Errorf("count the packets dropped by the bandwidth limit: %w", err)
	}
	for _, q := range queues {
		if s := q.Attrs().Statistics; q.Type() == "tbf" && s != nil && s.Queue != nil {
			return uint64(s.Queue.Drops), nil
		}
	}
	return 0, fmt.Errorf("count the packets dropped by the bandwidth limit: %s has no token bucket", tunName)
}
