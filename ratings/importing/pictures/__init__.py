"""Pictures that documents name. A worker fetches each once, decodes it and stores it by its hash."""
