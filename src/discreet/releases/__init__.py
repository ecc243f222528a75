"""The one pipeline that every release goes through, and the register of what has left. It knows no verb."""
