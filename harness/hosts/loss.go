package hosts

import (
	"errors"
	"fmt"
	"math"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// lossParts is the resolution of a loss probability: probabilities are multiples of 1/lossParts.
const lossParts = 1_000_000

const (
	lossTable = "hosts"
	lossChain = "loss"
)

// lose makes the host lose a random share of the packets that it receives from the other hosts. The
// host is the one in whose namespace the calling thread is. The loss is an nftables rule that uses
// numgen. Packets are lost when they arrive, because a sender would notice if its own kernel
// dropped a packet. Another rule before it counts all packets.
func lose(percent float64) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("lose packets: %w", err)
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: lossTable})
	chain := c.AddChain(&nftables.Chain{
		Name: lossChain, Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityRaw,
	})
	device := make([]byte, 16) // in the format that the kernel compares
	copy(device, tunName)
	fromOthers := []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: device},
	}
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append(fromOthers[:2:2], &expr.Counter{})})
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append(fromOthers[:2:2],
		&expr.Numgen{Register: 1, Type: unix.NFT_NG_RANDOM, Modulus: lossParts},
		// The kernel compares bytes in big-endian order.
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binaryutil.BigEndian.PutUint32(uint32(math.Round(percent / 100 * lossParts)))},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictDrop},
	)})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("lose packets with nftables (the kernel needs nf_tables and nft_numgen): %w", err)
	}
	return nil
}

// received returns the number of packets that have arrived at the host from the other hosts,
// including lost ones, and the number of lost packets. The calling thread must be in the
// host's namespace.
func received() (all, lost uint64, err error) {
	c, err := nftables.New()
	if err != nil {
		return 0, 0, fmt.Errorf("count lost packets: %w", err)
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: lossTable}
	rules, err := c.GetRules(table, &nftables.Chain{Name: lossChain, Table: table})
	if err != nil {
		return 0, 0, fmt.Errorf("count lost packets: %w", err)
	}
	var counted []uint64
	for _, r := range rules {
		for _, e := range r.Exprs {
			if counter, is := e.(*expr.Counter); is {
				counted = append(counted, counter.Packets)
			}
		}
	}
	if len(counted) != 2 {
		return 0, 0, errors.New("count lost packets: the counting rules are missing")
	}
	return counted[0], counted[1], nil
}
