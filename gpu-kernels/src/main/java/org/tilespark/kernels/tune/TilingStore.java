package org.tilespark.kernels.tune;

import java.nio.file.Path;
import java.util.List;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.Tiling;
import org.tilespark.kernels.transpose.TilingTable;

/**
 * Keeps tilings on disk: one file for each device model, driver and set of kernels, in a directory
 * that only its owner may write to. A file that is damaged, of another device, or not ours is
 * ignored with a warning and replaced when there is something to write; a directory that cannot be
 * used is warned of once, and everything goes on without it.
 *
 * <p>A file is replaced as a whole, so readers see the old or the new one. Of two processes that
 * write at the same moment one may lose its entry, which is then found again.
 */
public final class TilingStore {
  private static final TuningFile.Format<TilingTable> FORMAT =
      new TuningFile.Format<>(
          "tilings", TilingTable.EMPTY, TilingTable::parse, TilingTable::toText);

  private final TuningFile<TilingTable> file;

  /**
   * What tilings hold for: another device, driver or set of kernels has others.
   *
   * @param device the device's name, architecture and driver
   * @param kernels hash of the kernels
   */
  public record Origin(String device, String kernels) {
    private List<String> lines() {
      return List.of("tilespark tilings 1", "device " + device, "kernels " + kernels);
    }
  }

  /**
   * The store of one origin in {@code directory}, which is made when something is written.
   *
   * @param directory may be missing
   */
  public TilingStore(Path directory, Origin origin) {
    this.file = new TuningFile<>(FORMAT, directory, origin.lines());
  }

  /** The file that holds the tilings. */
  public Path file() {
    return file.path();
  }

  /** What is on disk; empty if there is nothing of use. */
  public TilingTable load() {
    return file.load();
  }

  /** Adds one tiling to what is on disk. */
  public void add(ProblemClass problems, Tiling tiling) {
    file.update(table -> table.with(problems, tiling));
  }
}
