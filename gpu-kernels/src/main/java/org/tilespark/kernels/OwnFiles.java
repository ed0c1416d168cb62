package org.tilespark.kernels;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Set;
import org.tilespark.kernels.launch.Availability;

/**
 * Checks that no other user of this machine could have replaced one of our files. Every file that
 * is loaded or trusted is checked here first. Stateless; POSIX file systems only.
 */
public final class OwnFiles {
  /** A path whose owner is the user of this process, whatever user the Java properties name. */
  private static final Path THIS_PROCESS = Path.of("/proc/self");

  /**
   * The bit of a directory's mode with which only the owner of a file in it may remove or rename
   * the file.
   */
  private static final int STICKY = 01000;

  private OwnFiles() {}

  /**
   * A directory, not a link, that belongs to the user of this process and that nobody else may
   * write to; or the reason why the directory's content may come from others.
   *
   * @throws IOException if owner or permissions cannot be read
   * @throws UnsupportedOperationException if the file system is no POSIX one
   */
  public static Availability<Path> directory(Path directory) throws IOException {
    return own(directory, true);
  }

  /**
   * A regular file, not a link, that belongs to the user of this process and that nobody else may
   * write to; or the reason why others may have written the file.
   *
   * @throws IOException if owner or permissions cannot be read
   * @throws UnsupportedOperationException if the file system is no POSIX one
   */
  public static Availability<Path> file(Path file) throws IOException {
    return own(file, false);
  }

  private static Availability<Path> own(Path path, boolean directory) throws IOException {
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
        ? Availability.of(path)
        : Availability.not(
            "%s%s belongs to %s with permissions %s; expected a %s of %s that nobody else may write to"
                .formatted(
                    path,
                    attributes.isSymbolicLink() ? " is a link, which" : "",
                    attributes.owner().getName(),
                    PosixFilePermissions.toString(permissions),
                    directory ? "directory" : "file",
                    self.getName()));
  }

  /**
   * A directory in which nobody else can replace a directory of ours, or why others can. A shared
   * directory for temporary files has the sticky bit: only the owner of a file can remove or rename
   * it there.
   *
   * @throws IOException if owner or permissions cannot be read
   * @throws UnsupportedOperationException if the file system is no POSIX one
   */
  public static Availability<Path> parent(Path parent) throws IOException {
    int mode = (int) Files.getAttribute(parent, "unix:mode");
    boolean shared =
        PosixFilePermissions.toString(Files.getPosixFilePermissions(parent)).charAt(7) == 'w';
    return shared && (mode & STICKY) == 0
        ? Availability.not(
            ("everybody may remove files of others from %s; expected the sticky bit (chmod +t) or a"
                    + " directory of one's own")
                .formatted(parent))
        : Availability.of(parent);
  }

  /**
   * A file that somebody else installed, if neither it nor its directory is writable for all; or
   * the reason why any user may have written the file.
   *
   * @param file the file; links are followed
   * @throws IOException if owner or permissions cannot be read
   * @throws UnsupportedOperationException if the file system is no POSIX one
   */
  public static Availability<Path> installed(Path file) throws IOException {
    Path real = file.toRealPath();
    for (Path path : new Path[] {real, real.getParent()}) {
      if (Files.getPosixFilePermissions(path).contains(PosixFilePermission.OTHERS_WRITE)) {
        return Availability.not("everybody may write to " + path);
      }
    }
    return Availability.of(file);
  }
}
