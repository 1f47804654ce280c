"""Backups: everything a system remembers in one portable archive, and a system made of one."""

from jqueuer.backup.archive import Archive
from jqueuer.backup.directories import back_up_directory, restore_directory
from jqueuer.backup.restoring import restore
from jqueuer.backup.writing import Summary, back_up

__all__ = ["Archive", "Summary", "back_up", "back_up_directory", "restore", "restore_directory"]
