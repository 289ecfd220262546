# An example of a node of a cluster of three: /etc/queued/queued.hcl of queued.service on the host 10.0.0.1. On the two
# other hosts the node is n2 and n3, and their own addresses stand where this one's do; all else is the same.
#
# What is left out here has its default. Check it with 'queued config check FILE'.

listen = ["10.0.0.1:7070", "unix:/run/queued/queued.sock"] # gRPC; clients are told the first one
http   = "10.0.0.1:7072"                                   # REST
admin  = "10.0.0.1:7071"                                   # admin service, probes, metrics, profiles

data       = "/var/lib/queued"
shards     = 4      # the same on all nodes; their leads spread over the nodes
durability = "sync" # each node has an entry on disk before it counts as there
auth       = "on"

# For clients: a certificate for this host.
tls {
  cert = "/etc/queued/cert.pem"
  key  = "/run/credentials/queued.service/key.pem"
}

cluster {
  node   = "n1"
  listen = "10.0.0.1:7073" # for the other nodes alone: let nobody else through to it
  peers  = { n1 = "10.0.0.1:7073", n2 = "10.0.0.2:7073", n3 = "10.0.0.3:7073" }

  # Between nodes: this node's folder of 'queued cluster init', copied to /etc/queued/cluster; the unit passes its files. Restart the
  # unit after a renewal: it passes the files at the start.
  certs = "/run/credentials/queued.service"

  # Only for a node that comes later, or in place of one that was lost: it asks for membership where its data folder is empty.
  # join = ["10.0.0.1:7073", "10.0.0.2:7073", "10.0.0.3:7073"]

  election_timeout = "500ms"
  clock_skew_max   = "500ms"
}

log {
  level  = "info"
  format = "json"
}
