"""What runs on this machine share: the files of their agents, their records, and the resources of the machine."""
