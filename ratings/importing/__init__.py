"""What comes from outside: files that people send, rankings that are pulled, and pictures of documents."""
