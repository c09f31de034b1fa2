"""The papers' tables and figures as experiments, and the ledger of their claims."""
