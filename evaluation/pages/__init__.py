"""What several pages of evaluations share. No view and no address."""
