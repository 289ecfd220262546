# An example of a configuration: /etc/queued/queued.hcl of queued.service.
#
# Whatever is left out has its default, and flags and QUEUED_* variables go before this file.
# Check it with 'queued config check FILE'; 'queued config show --config FILE' prints all that holds.

listen = ["127.0.0.1:7070", "unix:/run/queued/queued.sock"] # gRPC
http   = "127.0.0.1:7072"                                   # REST; "" for none
admin  = "127.0.0.1:7071"                                   # admin service, probes, metrics, profiles

# allowed_hosts = ["queue.example.com"] # the name of a proxy before http or admin

data       = "/var/lib/queued"
shards     = 1      # about one for each processor; fixed when the data folder is made
durability = "sync" # an fsync before each acknowledgement; or "interval", "none"
auth       = "on"

# To be reached from other hosts, name a certificate and other addresses above, as in ":7070".
#
# tls {
#   cert      = "/etc/queued/cert.pem"
#   key       = "/etc/queued/key.pem"
#   client_ca = "/etc/queued/clients.pem" # only with mTLS
# }

# To be one of three nodes that replicate, each with an id of its own and its folder of 'queued cluster init'.
#
# cluster {
#   node   = "n1"
#   listen = "10.0.0.1:7073"
#   peers  = { n1 = "10.0.0.1:7073", n2 = "10.0.0.2:7073", n3 = "10.0.0.3:7073" }
#   certs  = "/etc/queued/cluster"
# }

# What holds for tasks where neither they nor their queue say otherwise.
queue {
  lease           = "30s"
  max_attempts    = 20
  backoff_initial = "1s"
  backoff_max     = "10m"
}

# What one call may ask for, and what is kept in memory.
limits {
  payload_max = "1MiB"
  lease_max   = "1d"
  cache_max   = "64MiB"
}

log {
  level  = "info"
  format = "json"
}
