package hosts

import (
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

const (
	// shapedFor bounds the wait of a packet for its turn. Packets that would wait longer are
	// dropped, like at a full switch.
	shapedFor = 50 * time.Millisecond
	// burstFor is the capacity of the token bucket in time: a host may send this much at once after
	// a pause.
	burstFor    = 2 * time.Millisecond
	burstLeast  = 16 << 10
	shapedLeast = 64 << 10
	shapedMost  = 64 << 20
)

// limitBandwidth limits what the host in the calling thread's namespace sends to the others, in
// bits per second, with a token bucket (qdisc tbf) on its device.
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

// shaped returns the number of packets that the token bucket of the host in the calling thread's
// namespace has dropped because its queue was full.
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
