# Example configuration of one node of a three-node cluster: /etc/queued/queued.hcl of
# queued.service on the host 10.0.0.1. On the other two hosts, use n2 and n3 as the node and the
# host's address in place of 10.0.0.1; the rest is the same.
#
# Omitted settings have their defaults. Check the file with 'queued config check FILE'.

# Clients are redirected to the first address of listen.
listen = ["10.0.0.1:7070", "unix:/run/queued/queued.sock"] # gRPC
http   = "10.0.0.1:7072"                                   # REST
admin  = "10.0.0.1:7071"                                   # admin service, probes, metrics, profiles

data       = "/var/lib/queued"
shards     = 4      # the same on all nodes, which share the leads of the shards
durability = "sync" # each node syncs an entry before it acknowledges it
auth       = "on"

# For clients: a certificate for this host.
tls {
  cert = "/etc/queued/cert.pem"
  key  = "/run/credentials/queued.service/key.pem"
}

cluster {
  node   = "n1"
  listen = "10.0.0.1:7073" # for the other nodes only: block access from elsewhere
  peers  = { n1 = "10.0.0.1:7073", n2 = "10.0.0.2:7073", n3 = "10.0.0.3:7073" }

  # TLS between nodes: this node's folder from 'queued cluster init', copied to /etc/queued/cluster;
  # the unit passes its files. Restart the unit after a renewal, since it reads the files only
  # when it starts.
  certs = "/run/credentials/queued.service"

  # Only for a node that joins later or replaces a lost one: with an empty data folder it asks these
  # nodes for membership.
  # join = ["10.0.0.1:7073", "10.0.0.2:7073", "10.0.0.3:7073"]

  election_timeout = "500ms"
  clock_skew_max   = "500ms"
}

log {
  level  = "info"
  format = "json"
}
