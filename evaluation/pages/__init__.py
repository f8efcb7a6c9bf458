"""What several pages of evaluations share. No views and no addresses."""
