"""Where data sets are fetched from: packages of registries, archives, folders, addresses."""
