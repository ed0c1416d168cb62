package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;

/**
 * Runs a {@link BlockProgram} on many arrays of one task, one after another: {@link #begin} an
 * array, {@link #put} its parts and those of the further arrays that the program takes, {@link
 * #run} it, and {@link #take} parts of the result. Between the first put and the last take the
 * array stays where it is computed: in device memory if there is a device. While one array is
 * computed or downloaded, the next one may be put; {@link #isFull()} says when parts have to be
 * taken first.
 *
 * <p>A complex array has two planes (real and imaginary parts), a real one has one. Used by one
 * thread. Closing waits for the device and frees all results that were not taken; it may be called
 * twice.
 */
public interface BlockPipeline extends AutoCloseable {
  /**
   * A part of an array.
   *
   * @param low index of its first element in the array, one number per axis
   * @param size extents of the part
   */
  record Part(List<Long> low, List<Long> size) {
    /** Copies the lists. */
    public Part {
      low = List.copyOf(low);
      size = List.copyOf(size);
    }

    /** A part at {@code low} with the extents {@code size}. */
    public static Part at(long[] low, long[] size) {
      return new Part(Arrays.stream(low).boxed().toList(), Arrays.stream(size).boxed().toList());
    }

    /** The part that is all of an array. */
    public static Part whole(Shape shape) {
      return at(new long[shape.rank()], shape.toArray());
    }

    /** This part of array {@code number}, if several arrays are joined along a leading axis. */
    Part behind(long number) {
      List<Long> lows = new ArrayList<>(List.of(number));
      lows.addAll(low);
      List<Long> sizes = new ArrayList<>(List.of(1L));
      sizes.addAll(size);
      return new Part(lows, sizes);
    }

    /**
     * Checks that this part is inside an array and is not empty.
     *
     * @throws IllegalArgumentException if not
     */
    void requireInside(Shape shape) {
      boolean inside = low.size() == shape.rank() && size.size() == shape.rank();
      for (int axis = 0; inside && axis < low.size(); axis++) {
        inside =
            low.get(axis) >= 0
                && size.get(axis) >= 1
                && low.get(axis) <= shape.extent(axis) - size.get(axis);
      }
      if (!inside) {
        throw new IllegalArgumentException(
            "A part of size " + size + " at " + low + " of an array of shape " + shape);
      }
    }

    /**
     * Checks that this part is inside an array, and that {@code planes} have the number and length
     * that it needs.
     *
     * @throws IllegalArgumentException if not
     */
    void requirePlanes(List<Plane> planes, State state) {
      requireInside(state.shape());
      long bytes = elements() * state.type().bytes();
      boolean fits = planes.size() == state.planes();
      for (Plane plane : planes) {
        fits &= plane.values().bytes() == bytes;
      }
      if (!fits) {
        throw new IllegalArgumentException(
            "A part of size %s of a %s array with planes of %s bytes; expected %s of %s"
                .formatted(
                    size,
                    state,
                    planes.stream().map(plane -> plane.values().bytes()).toList(),
                    state.planes(),
                    bytes));
      }
    }

    /**
     * The destination memory of this part, checked.
     *
     * @throws IllegalArgumentException if it is neither empty nor as long as the planes
     */
    List<HostMemory> requireRoom(List<HostMemory> room, State state) {
      long bytes = elements() * state.type().bytes();
      boolean fits = room.isEmpty() || room.size() == state.planes();
      for (HostMemory plane : room) {
        fits &= plane.bytes() == bytes;
      }
      if (!fits) {
        throw new IllegalArgumentException(
            "A room of "
                + room.stream().map(HostMemory::bytes).toList()
                + " bytes for a part of size "
                + size
                + " of a "
                + state
                + " array; expected "
                + state.planes()
                + " of "
                + bytes);
      }
      return room;
    }

    /** Count of the part's elements. */
    public long elements() {
      long elements = 1;
      for (long extent : size) {
        elements = Math.multiplyExact(elements, extent);
      }
      return elements;
    }
  }

  /** True if a part must be taken before a further array may begin. */
  boolean isFull();

  /** Number of arrays that were run and not yet taken as a whole. */
  int inFlight();

  /**
   * Starts an array, initially all zero. The previous one must have been run.
   *
   * @param program the steps on the array
   * @throws org.tilespark.kernels.ResourceException if the array and the work area of its
   *     transforms do not fit; the message states the bytes needed, the bytes available, and what
   *     helps
   */
  void begin(BlockProgram program);

  /**
   * Puts a part of an array that was begun; no two parts may overlap. Planes with an owner are
   * retained until the array is done. Planes without an owner have been read when this returns.
   *
   * @param input number of the array among {@link BlockProgram#inputs}
   * @param planes planes of the part, dense and row-major; one if the input is real, else two
   * @throws IllegalArgumentException if the part is not inside the array, or a plane does not have
   *     the part's length
   */
  void put(int input, Part part, List<Plane> planes);

  /** Puts a part of the first array, as {@link #put(int, Part, List)}. */
  default void put(Part part, List<Plane> planes) {
    put(0, part, planes);
  }

  /**
   * Puts an array that was begun as one part, as {@link #put}. Planes without an owner must stay
   * valid until {@link #run} returns.
   *
   * @param input number of the array among {@link BlockProgram#inputs}
   * @throws IllegalArgumentException if a plane does not have the array's length
   */
  void putWhole(int input, List<Plane> planes);

  /** Puts the first array, as {@link #putWhole(int, List)}. */
  default void putWhole(List<Plane> planes) {
    putWhole(0, planes);
  }

  /**
   * Runs the array that was begun, as {@link #run(List, Rooms)}; all parts of its result go into
   * the pipeline's own buffers.
   */
  default void run(List<Part> outputs) {
    run(outputs, Rooms.NONE);
  }

  /**
   * Runs the program on the array that was begun; elements that were not put are zero.
   *
   * @param outputs the parts of the result that will be taken, in this order; an element of the
   *     result may be in several parts or in none. If the list is empty, nothing is taken and the
   *     array is dropped
   * @param rooms destinations of these parts
   * @throws IllegalArgumentException if a part is not inside the result
   */
  void run(List<Part> outputs, Rooms rooms);

  /**
   * Waits for the next part of the oldest array that was run.
   *
   * @return one buffer per plane of the result, dense, row-major; the caller closes them. Empty if
   *     the part was written to its room
   * @throws IllegalStateException if an array was begun and not run
   */
  List<ArrowBuf> take();

  @Override
  void close();
}
