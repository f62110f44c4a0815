"""Records and objects in a bucket of an S3-compatible service, as copies of those in home folders."""
