"""A network of real Docker engines on this machine: each node has namespaces, addresses and cgroups of its own."""
