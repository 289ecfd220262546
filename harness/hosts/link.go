package hosts

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The addresses are in a range that RFC 2544 reserves for network benchmarks.
const (
	// loadAddress is the address of the load generator, which is in the namespace of this process.
	loadAddress = "198.18.1.1"
	// hostsPrefix is the prefix of the hosts' addresses. The last byte of an address is the number
	// of the host, from 1.
	hostsPrefix = "198.18.0."
	prefixBits  = 24
)

const (
	// tunName is the name of a host's device for traffic to the other hosts. toLoad is the name of
	// its device for traffic to the load generator.
	tunName = "hosts"
	toLoad  = "load"
	// mtu is the size of the largest packet between hosts, as on Ethernet.
	mtu = 1500
	// tunQueue is the number of packets that a device can queue for the forwarder.
	tunQueue = 8192
)

func addressOf(index int) string { return fmt.Sprintf("%s%d", hostsPrefix, index+1) }

// indexOf returns the index of a packet's destination. It returns false if the destination is not a
// host.
func indexOf(packet []byte, hosts int) (int, bool) {
	const destination, version4 = 16, 4
	if len(packet) < 20 || packet[0]>>4 != version4 {
		return 0, false
	}
	to := packet[destination : destination+4]
	index := int(to[3]) - 1
	return index, to[0] == 198 && to[1] == 18 && to[2] == 0 && index >= 0 && index < hosts
}

// makeTUN creates a host's device to the other hosts, with the host's address. It creates it in the
// namespace of the calling thread. It returns the file that transfers the packets of the device.
func makeTUN(index int) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(tunName)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create a TUN device: %w", err), unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "/dev/net/tun")
	if err := configureTUN(index); err != nil {
		return nil, errors.Join(fmt.Errorf("configure the TUN device: %w", err), file.Close())
	}
	return file, nil
}

func configureTUN(index int) error {
	if err := upLoopback(); err != nil {
		return err
	}
	tun, err := netlink.LinkByName(tunName)
	if err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(addressOf(index)), Mask: net.CIDRMask(prefixBits, 32)}}
	return errors.Join(
		netlink.LinkSetMTU(tun, mtu), netlink.LinkSetTxQLen(tun, tunQueue), netlink.AddrAdd(tun, address), netlink.LinkSetUp(tun))
}

func vethName(index int) string { return fmt.Sprintf("host%d", index+1) }

// makeVeth creates the link between the load generator and a host. The load generator is in the
// namespace of this process.
func makeVeth(index int, namespace *os.File) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = vethName(index)
	veth := &netlink.Veth{LinkAttrs: attributes, PeerName: toLoad, PeerNamespace: netlink.NsFd(namespace.Fd())}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("create the link to the load generator: %w", err)
	}
	if err := routeOver(vethName(index), loadAddress, addressOf(index)); err != nil {
		return err
	}
	return inside(namespace, func() error { return routeOver(toLoad, addressOf(index), loadAddress) })
}

// routeOver activates a device. Packets for the address to are then sent over this device with the
// source address from.
func routeOver(device, from, to string) error {
	link, err := netlink.LinkByName(device)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err == nil {
		err = netlink.RouteAdd(&netlink.Route{
			LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK, Src: net.ParseIP(from), Dst: &net.IPNet{IP: net.ParseIP(to), Mask: net.CIDRMask(32, 32)},
		})
	}
	if err != nil {
		return fmt.Errorf("route packets for %s over %s: %w", to, device, err)
	}
	return nil
}

// removeVeth removes the link to a host from this process's namespace, if the link exists. The link
// would also disappear together with the host's namespace, but later.
func removeVeth(index int) error {
	link, err := netlink.LinkByName(vethName(index))
	if _, gone := errors.AsType[netlink.LinkNotFoundError](err); gone {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil {
		return fmt.Errorf("remove the link to a host: %w", err)
	}
	return nil
}

func makeLoadAddress() error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.AddrReplace(lo, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(loadAddress), Mask: net.CIDRMask(32, 32)}})
	}
	if err != nil {
		return fmt.Errorf("set the load generator's address: %w", err)
	}
	return nil
}

// sent returns the number of bytes that the host has sent to the other hosts, and the number of
// packets that its device dropped because the forwarder was too slow. The host is the one in whose
// namespace the calling thread is.
func sent() (bytes, dropped uint64, err error) {
	tun, err := netlink.LinkByName(tunName)
	if err != nil {
		return 0, 0, fmt.Errorf("read a host's sent bytes: %w", err)
	}
	s := tun.Attrs().Statistics
	return s.TxBytes, s.TxDropped, nil
}
