package org.tilespark.kernels.transpose;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;

/**
 * Puts transposes of several sizes into few launches. A pure function.
 *
 * <p>Tiled transposes of one family and width share a launch, at most {@value #MAX_PARTS} at a
 * time; the kernel finds for each tile the transpose that it belongs to. Other transposes are
 * launched separately.
 */
public final class MixedLaunch {
  /** The largest number of transposes in one launch; {@code MAX_PARTS} in index.cuh. */
  static final int MAX_PARTS = 88;

  /**
   * Words of one transpose in the launch: number of its first tile, offsets of its input and
   * output, then {@link MatrixBatch#tileWords}.
   */
  private static final int PART_WORDS = 3 + MatrixBatch.TILE_WORDS;

  private MixedLaunch() {}

  /**
   * One of the launches that {@link #of} gives, and the offsets of its input and output in their
   * buffers.
   *
   * @param launch the launch; empty if the driver copies the bytes, or there is nothing to move
   * @param inOffset bytes from the input buffer's start to the launch's input
   * @param outOffset bytes from the output buffer's start to the launch's output
   * @param bytes bytes to copy if there is no launch
   */
  public record OffsetLaunch(
      Optional<KernelLaunch> launch, long inOffset, long outOffset, long bytes) {
    private static OffsetLaunch of(OffsetPlan part) {
      return new OffsetLaunch(
          part.plan().launch(), part.inOffset(), part.outOffset(), part.plan().problem().bytes());
    }
  }

  private record Group(String family, int elementBytes) {}

  /**
   * The launches that together run all of {@code plans}, whose outputs must not overlap.
   *
   * @param plans plans in any order
   * @param device the device's limits and the kernels of this jar
   */
  public static List<OffsetLaunch> of(List<OffsetPlan> plans, DeviceKernels device) {
    List<OffsetLaunch> launches = new ArrayList<>();
    Map<Group, List<OffsetPlan>> groups = new LinkedHashMap<>();
    for (OffsetPlan part : plans) {
      if (part.plan().strategy() instanceof TransposeStrategy.Tiled tiled) {
        Group group = new Group(tiled.family(), tiled.matrices().elementBytes());
        groups.computeIfAbsent(group, any -> new ArrayList<>()).add(part);
      } else {
        launches.add(OffsetLaunch.of(part));
      }
    }
    groups.forEach(
        (group, members) -> {
          Optional<KernelIndex.Kernel> kernel =
              device.find(group.family() + "_mixed", group.elementBytes());
          for (int first = 0; first < members.size(); first += MAX_PARTS) {
            List<OffsetPlan> parts =
                members.subList(first, Math.min(members.size(), first + MAX_PARTS));
            if (parts.size() == 1 || kernel.isEmpty()) {
              parts.forEach(part -> launches.add(OffsetLaunch.of(part)));
            } else {
              launches.add(
                  new OffsetLaunch(
                      Optional.of(launch(parts, kernel.get(), device.limits())), 0, 0, 0));
            }
          }
        });
    return launches;
  }

  private static KernelLaunch launch(
      List<OffsetPlan> parts, KernelIndex.Kernel kernel, DeviceLimits limits) {
    long[] words = new long[2 + parts.size() * PART_WORDS];
    int at = 2;
    long tiles = 0;
    for (OffsetPlan part : parts) {
      TransposeStrategy.Tiled tiled =
          ((TransposeStrategy.Tiled) part.plan().strategy()).with(kernel);
      long rowTiles = tiled.rowTiles();
      long colTiles = tiled.colTiles();
      words[at] = tiles;
      words[at + 1] = part.inOffset();
      words[at + 2] = part.outOffset();
      long[] ofTiles = tiled.matrices().tileWords(rowTiles, colTiles, tiled.order());
      System.arraycopy(ofTiles, 0, words, at + 3, ofTiles.length);
      tiles = Math.addExact(tiles, tiled.matrices().tiles(rowTiles, colTiles));
      at += PART_WORDS;
    }
    words[0] = tiles;
    words[1] = parts.size();
    return new KernelLaunch(
        kernel.name(), LaunchConfig.forPieces(tiles, kernel.shape().threads(), 0, limits), words);
  }
}
