package org.tilespark.kernels;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Optional;
import java.util.Set;

/**
 * Whether other users of a machine could have put something in place of our files. What is loaded
 * or believed is looked at by these before. Stateless; POSIX file systems only.
 */
public final class OwnFiles {
  /** Belongs to whom this process runs as, whatever names the Java properties give. */
  private static final Path THIS_PROCESS = Path.of("/proc/self");

  /** The bit of a directory in which only its owner may remove or rename a file. */
  private static final int STICKY = 01000;

  private OwnFiles() {}

  /**
   * Why a directory may hold what others put there; empty if it is a directory, not a link, that
   * belongs to the user of this process and that nobody else may write to.
   *
   * @throws IOException if that cannot be found out
   * @throws UnsupportedOperationException if the file system is no POSIX one
   */
  public static Optional<String> objectionToDirectory(Path directory) throws IOException {
    return objection(directory, true);
  }

  /**
   * Why others may have written a file; empty if it is a regular file, not a link, that belongs to
   * the user of this process and that nobody else may write to.
   *
   * @throws IOException if that cannot be found out
   * @throws UnsupportedOperationException if the file system is no POSIX one
   */
  public static Optional<String> objectionToFile(Path file) throws IOException {
    return objection(file, false);
  }

  private static Optional<String> objection(Path path, boolean directory) throws IOException {
    PosixFileAttributes attributes =
        Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    Set<PosixFilePermission> permissions = attributes.permissions();
    UserPrincipal self = Files.getOwner(THIS_PROCESS);
    boolean ours =
        (directory ? attributes.isDirectory() : attributes.isRegularFile())
            && attributes.owner().equals(self)
            && !permissions.contains(PosixFilePermission.GROUP_WRITE)
            && !permissions.contains(PosixFilePermission.OTHERS_WRITE);
    return ours
        ? Optional.empty()
        : Optional.of(
            path
                + (attributes.isSymbolicLink() ? " is a link, which" : "")
                + " belongs to "
                + attributes.owner().getName()
                + " with permissions "
                + PosixFilePermissions.toString(permissions)
                + "; expected a "
                + (directory ? "directory" : "file")
                + " of "
                + self.getName()
                + " that nobody else may write to");
  }

  /**
   * Why others could replace a directory of ours in {@code parent}; empty if only we could. A
   * directory for everybody's temporary files has the sticky bit, so that nobody removes or renames
   * what is another's.
   *
   * @throws IOException if that cannot be found out
   * @throws UnsupportedOperationException if the file system is no POSIX one
   */
  public static Optional<String> objectionToParent(Path parent) throws IOException {
    int mode = (int) Files.getAttribute(parent, "unix:mode");
    boolean shared =
        PosixFilePermissions.toString(Files.getPosixFilePermissions(parent)).charAt(7) == 'w';
    return shared && (mode & STICKY) == 0
        ? Optional.of(
            "everybody may remove files of others from "
                + parent
                + "; expected the sticky bit (chmod +t) or a directory of one's own")
        : Optional.empty();
  }

  /**
   * Why everybody may have written a file that somebody else installed; empty if neither it nor its
   * directory is writable for all.
   *
   * @param file links are followed
   * @throws IOException if that cannot be found out
   * @throws UnsupportedOperationException if the file system is no POSIX one
   */
  public static Optional<String> objectionToInstalled(Path file) throws IOException {
    Path real = file.toRealPath();
    for (Path path : new Path[] {real, real.getParent()}) {
      if (Files.getPosixFilePermissions(path).contains(PosixFilePermission.OTHERS_WRITE)) {
        return Optional.of("everybody may write to " + path);
      }
    }
    return Optional.empty();
  }
}
