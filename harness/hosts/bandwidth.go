package hosts

import (
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

const (
	// shapedFor is how long a packet waits at most for its turn. Packets that would wait longer are dropped, as at a full switch.
	shapedFor = 50 * time.Millisecond
	// burstFor is the time for which tokens of the bucket are kept: what a host may send at once after a pause.
	burstFor    = 2 * time.Millisecond
	burstLeast  = 16 << 10
	shapedLeast = 64 << 10
	shapedMost  = 64 << 20
)

// limitBandwidth has the host in the namespace of the calling thread send to the others at most so many bits a second: a token bucket
// (qdisc tbf) on the device to them.
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
		return fmt.Errorf("limit the bandwidth by a token bucket (qdisc tbf of the kernel): %w", err)
	}
	return nil
}

// shaped returns how many packets the token bucket of the host in the namespace of the calling thread has dropped because its queue was
// full.
func shaped() (dropped uint64, err error) {
	tun, err := netlink.LinkByName(tunName)
	if err != nil {
		return 0, fmt.Errorf("read what the bandwidth dropped: %w", err)
	}
	queues, err := netlink.QdiscList(tun)
	if err != nil {
		return 0, fmt.Errorf("read what the bandwidth dropped: %w", err)
	}
	for _, q := range queues {
		if s := q.Attrs().Statistics; q.Type() == "tbf" && s != nil && s.Queue != nil {
			return uint64(s.Queue.Drops), nil
		}
	}
	return 0, fmt.Errorf("read what the bandwidth dropped: there is no token bucket on %s", tunName)
}
